import argparse
import os

print(os.path.basename(__file__))
argparse.ArgumentParser(description="A script with a difficult name.").print_help()
