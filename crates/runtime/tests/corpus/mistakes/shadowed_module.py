# files: shapes.py
# A local file wins over nothing; a local name wins over a module.
import shapes

shapes = shapes.square(4)
try:
    print(shapes)
    print(shapes.PI_ISH)
except AttributeError as e:
    print("AttributeError:", e)
