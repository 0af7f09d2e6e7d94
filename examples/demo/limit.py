# A script that never ends, and does not want to be ended. Run it with:
#   belljar run --timeout 1 examples/demo/limit.py

print("Going round in circles …", flush=True)
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
