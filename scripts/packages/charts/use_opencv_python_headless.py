# package: opencv-python-headless
# uses: drawing, contours, blurring, a picture and a film written and read
# expect: 2 (100, 200, 3) True 10
import cv2
import numpy as np

picture = np.zeros((100, 200, 3), np.uint8)
cv2.circle(picture, (50, 50), 20, (255, 255, 255), -1)
cv2.rectangle(picture, (120, 20), (180, 80), (255, 255, 255), -1)
cv2.imwrite("shapes.png", picture)
again = cv2.imread("shapes.png")
contours, _ = cv2.findContours(
    cv2.cvtColor(again, cv2.COLOR_BGR2GRAY), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE
)
blurred = cv2.GaussianBlur(again, (9, 9), 0)
film = cv2.VideoWriter("film.avi", cv2.VideoWriter_fourcc(*"MJPG"), 10, (200, 100))
for _ in range(10):
    film.write(picture)
film.release()
frames = int(cv2.VideoCapture("film.avi").get(cv2.CAP_PROP_FRAME_COUNT))
print(len(contours), again.shape, bool(0 < blurred[50, 70, 0] < 255), frames)
