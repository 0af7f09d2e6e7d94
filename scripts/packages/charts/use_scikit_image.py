# package: scikit-image
# uses: edges, labelled regions, thresholds, a picture written and read
# expect: 2 True [400, 900] (100, 100)
import numpy as np
from skimage import feature, filters, io, measure

picture = np.zeros((100, 100), np.uint8)
picture[10:30, 10:30] = 200
picture[50:80, 50:80] = 250
io.imsave("regions.png", picture, check_contrast=False)
again = io.imread("regions.png")
labels = measure.label(again > filters.threshold_otsu(again))
areas = sorted(int(region.area) for region in measure.regionprops(labels))
print(labels.max(), bool(feature.canny(again / 255.0).any()), areas, again.shape)
