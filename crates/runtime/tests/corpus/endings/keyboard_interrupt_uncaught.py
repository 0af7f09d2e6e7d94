# differs: an uncaught KeyboardInterrupt is an exception like others, not SIGINT
print("about to be interrupted", flush=True)
raise KeyboardInterrupt
