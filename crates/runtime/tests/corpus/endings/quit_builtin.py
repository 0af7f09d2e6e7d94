print("goodbye")
quit()
