# stdin: hunter2\n
import getpass
import warnings

warnings.simplefilter("ignore")
print(len(getpass.getpass("Password: ")))
