# differs: some modules are imported already, and emit_result is there
# The import is missing, as it often is in a pasted fragment.
def list_files(path):
    return sorted(os.listdir(path))


print("listing")
print(len(list_files(".")) > 0)
