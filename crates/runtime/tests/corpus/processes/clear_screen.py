import os

# The first line of many menus. Without a terminal it does nothing useful.
status = os.system("cls" if os.name == "nt" else "clear 2>/dev/null")
print("Menu")
print("cleared" if status == 0 else "could not clear")
