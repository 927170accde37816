#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stores.py: as `aws`, an object store of one bucket; as `kubectl`, an API server with objects: as much of both as
packaging/examples uses. The state is in the directory $STORE. If it has a file `ignores`, the store ignores If-Match and
If-None-Match. An executable file `before-write` in it is run once, before a write: what others do after the caller has read."""
import hashlib
import json
import os
import subprocess
import sys

STORE = os.environ["STORE"]


def path(name):
    return os.path.join(STORE, name.replace("/", "_"))


def read(name):
    try:
        with open(path(name), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def write(name, value):
    with open(path(name), "w", encoding="utf-8") as file:
        json.dump(value, file)


def before_write():
    if os.path.exists(path("before-write")):
        os.rename(path("before-write"), path("then"))
        subprocess.run([path("then")], check=True)


def options(words):
    return dict(zip(words[::2], words[1::2]))


def aws(words):
    assert words[0] == "s3api", words
    given = options(words[2:])
    assert given["--bucket"] == "shop", words
    key = given["--key"]
    if words[1] == "head-object":
        assert (given["--query"], given["--output"]) == ("[Metadata.fence, ETag]", "text"), words
        there = read(key)
        if there is None:
            sys.exit("An error occurred (404) when calling the HeadObject operation: Not Found")
        print(there["fence"] or "None", there["etag"], sep="\t")
        return
    assert words[1] == "put-object", words
    if not key.endswith(".fence-test"):
        before_write()
    there = read(key)
    if not os.path.exists(path("ignores")):
        match = given.get("--if-match")
        if (match and (there is None or there["etag"] != match)) or ("--if-none-match" in given and there is not None):
            sys.exit("An error occurred (PreconditionFailed) when calling the PutObject operation")
    with open(given["--body"], "rb") as file:
        body = file.read()
    etag = '"' + hashlib.md5(body).hexdigest() + '"'
    write(key, {"body": body.decode(), "etag": etag, "fence": given["--metadata"].removeprefix("fence=")})
    print(json.dumps({"ETag": etag}))


def merge(old, patch):  # RFC 7396
    if not isinstance(patch, dict):
        return patch
    return {**old, **{key: merge(old.get(key, {}), value) for key, value in patch.items()}}


def kubectl(words):
    there = read(words[1])
    given = options(words[2:])
    metadata = there["metadata"]
    if words[0] == "get":
        assert given["-o"] == "jsonpath={.metadata.resourceVersion} {.metadata.annotations.fence}", words
        print(metadata["resourceVersion"], metadata.get("annotations", {}).get("fence", ""), end="")
        return
    assert words[0] == "patch" and given["--type"] == "merge", words
    before_write()
    there = read(words[1])
    patch = json.loads(given["-p"])
    if patch["metadata"].get("resourceVersion", there["metadata"]["resourceVersion"]) != there["metadata"]["resourceVersion"]:
        sys.exit("Error from server (Conflict): the object has been modified")
    there = merge(there, patch)
    there["metadata"]["resourceVersion"] = str(int(there["metadata"]["resourceVersion"]) + 1)
    write(words[1], there)


{"aws": aws, "kubectl": kubectl}[os.path.basename(sys.argv[0])](sys.argv[1:])
