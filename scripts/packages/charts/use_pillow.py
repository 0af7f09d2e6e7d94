# uses: drawing, text, resizing, filters, JPEG, PNG and WebP files
# expect: (50, 50) (255, 0, 0) True ['JPEG', 'PNG', 'WEBP'] L
from PIL import Image, ImageDraw, ImageFilter, ImageFont

picture = Image.new("RGB", (200, 200), "white")
draw = ImageDraw.Draw(picture)
draw.rectangle((0, 0, 99, 199), fill="red")
draw.text((110, 90), "hello", fill="black", font=ImageFont.load_default(size=20))
has_ink = any(sum(picture.getpixel((x, y))) < 100 for x in range(100, 200) for y in range(80, 120))
small = picture.resize((50, 50)).filter(ImageFilter.SMOOTH)
formats = []
for kind in ("jpeg", "png", "webp"):
    picture.save(f"p.{kind}")
    formats.append(Image.open(f"p.{kind}").format)
print(small.size, small.getpixel((5, 25)), has_ink, formats, picture.convert("L").mode)
