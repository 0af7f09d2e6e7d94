# differs (local as root): this engine runs scripts as the user who asked
import getpass
import os
import pwd
from pathlib import Path

entry = pwd.getpwuid(os.getuid())
print(entry.pw_uid == os.getuid(), bool(entry.pw_name))
print(bool(getpass.getuser()), Path.home().is_dir(), os.access(Path.home(), os.R_OK))
print(os.geteuid() == os.getuid(), os.getuid() == 0)
