# differs: the time limit has set SIGALRM and its timer
import signal

print(signal.alarm(0))
print(signal.getitimer(signal.ITIMER_REAL))
print(signal.getsignal(signal.SIGALRM) is signal.SIG_DFL)
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
print(signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN)
print(signal.pthread_sigmask(signal.SIG_BLOCK, []))
