import ipaddress
import threading
import xmlrpc.client
from xmlrpc.server import SimpleXMLRPCServer

with SimpleXMLRPCServer(("127.0.0.1", 0), logRequests=False, allow_none=True) as server:
    server.register_function(pow)
    server.register_function(lambda xs: sorted(xs), "sort")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    proxy = xmlrpc.client.ServerProxy(f"http://127.0.0.1:{server.server_address[1]}")
    print(proxy.pow(2, 9), proxy.sort([3, 1, 2]))
    try:
        proxy.missing()
    except xmlrpc.client.Fault as e:
        print("Fault", e.faultCode)
    server.shutdown()
net = ipaddress.ip_network("192.168.4.0/29")
print(net.num_addresses, [str(h) for h in net.hosts()][:2], ipaddress.ip_address("192.168.4.3") in net)
