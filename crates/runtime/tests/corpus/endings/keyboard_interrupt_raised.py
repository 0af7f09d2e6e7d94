import signal


def main():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        print("interrupted, but tidy")
        return 130
    return 0


raise SystemExit(main())
