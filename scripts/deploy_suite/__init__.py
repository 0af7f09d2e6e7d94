"""What is claimed of Belljar in a container: what it must be granted, and how it starts and ends there.

`cli` goes through the claims of `grants`, `endings`, `tls` and `proxy`. `image` makes the image and containers
of it, with the options that the guide has (`guide`); `client` speaks to the server in one.
"""
