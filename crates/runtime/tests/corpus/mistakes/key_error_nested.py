import json

payload = json.loads('{"user": {"name": "ada", "roles": ["admin"]}}')
print(payload["user"]["name"])
try:
    print(payload["user"]["email"])
except KeyError as e:
    print("KeyError", e)
print(payload["account"]["id"])
