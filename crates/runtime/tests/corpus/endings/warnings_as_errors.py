import warnings

warnings.simplefilter("error")
try:
    warnings.warn("old way", DeprecationWarning)
except DeprecationWarning as w:
    print("turned into an error:", w)
warnings.warn("this one ends the script", UserWarning)
print("not reached")
