# uses: the C parser, dates, anchors, safe loading, dumping
# expect: {'a': [1, 2], 'b': [1, 2], 'day': datetime.date(2024, 1, 2)} True True
import yaml

loaded = yaml.load("a: &x [1, 2]\nb: *x\nday: 2024-01-02\n", Loader=yaml.CSafeLoader)
try:
    yaml.safe_load("!!python/object/apply:os.getcwd []")
    refused = False
except yaml.YAMLError:
    refused = True
print(loaded, yaml.safe_load(yaml.safe_dump(loaded)) == loaded, refused)
