# attack: going_on_for_ever_after_a_result
# expect: ok "real"
# warns: the script went on after its result and was killed 0.5 s later
emit_result("real")
while True: pass

# attack: sleeping_after_a_result_with_every_signal_blocked
# expect: ok "real"
# warns: the script went on after its result and was killed 0.5 s later
emit_result("real")
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
time.sleep(600)

# attack: a_thread_that_keeps_the_script_from_ending
# expect: ok "real"
# warns: the script went on after its result and was killed 0.5 s later
threading.Thread(target=time.sleep, args=(600,)).start()
emit_result("real")

# attack: an_error_told_and_not_meant
# expect: exception
# warns: the script went on after its error and was killed 0.5 s later
raw(sealed("error", message="told"))
while True: time.sleep(1)

# attack: an_exit_after_a_result
# expect: ok "real"
# warns: after its result the process exited with code 7
emit_result("real")
os._exit(7)

# attack: a_crash_after_a_result
# expect: ok "real"
# warns: after its result the process was killed by signal 11
emit_result("real")
ctypes.string_at(0)

# attack: a_flood_after_a_result_has_no_end_of_its_own
# expect: output
emit_result("real")
while True: raw(b"x" * 65536, 1)

# attack: an_end_told_before_the_result
# expect: no_result
raw(sealed("script_done"))
while True: emit_result("late")

# attack: a_channel_shut_after_a_result
# expect: ok "real"
# warns: the script went on after its result and was killed
emit_result("real")
os.closerange(0, 4097)
while True: time.sleep(1)
