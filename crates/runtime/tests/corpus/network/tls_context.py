import ssl

context = ssl.create_default_context()
print(context.verify_mode.name, context.check_hostname, context.minimum_version.name)
print(ssl.OPENSSL_VERSION.split()[0], ssl.HAS_TLSv1_3, len(context.get_ciphers()) > 5)
