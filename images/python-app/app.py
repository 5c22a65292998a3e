"""A small web application for trying Quayside out: it shows what reaches a container. Python's standard library only.

/            a page that leads to the others, by relative links
/echo        method, path, headers and body of the request, as JSON
/ws          WebSocket: sends every message back
/env?name=A  the named environment variables, as JSON (no name: their names only)
/data/       the files below the directory that DATA_DIR names (default /data)
/crash       ends the program at once; ?code= chooses the exit code (default 1)

PORT (default 8000) is the port that it listens on.
"""

import base64
import hashlib
import json
import os
import shutil
import signal
import socket
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from html import escape
from urllib.parse import parse_qs, quote, unquote, urlsplit

DATA_DIR = os.environ.get("DATA_DIR", "/data")
MAX_BODY = 16 * 1024 * 1024
MAX_MESSAGE = 16 * 1024 * 1024

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>python-app</title>
<meta name="viewport" content="width=device-width">
<style>body{font:16px/1.5 sans-serif;max-width:40em;margin:3em auto;padding:0 1em}</style>
<h1>It runs</h1>
<p>This page comes from a container named <code>%(host)s</code>.
<ul><li><a href="echo">The request as it arrived</a>
<li><a href="env">Names of the environment variables</a>
<li><a href="data/">Files</a></ul>
<p>WebSocket: <output id="ws">connecting</output>
<script>
const out = document.getElementById("ws"), url = new URL("ws", location.href)
url.protocol = url.protocol.replace("http", "ws")
const socket = new WebSocket(url)
socket.onopen = () => socket.send("hello")
socket.onmessage = (event) => { out.textContent = "echoed " + event.data }
socket.onerror = () => { out.textContent = "failed" }
</script></html>
"""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "python-app"
    disable_nagle_algorithm = True

    def answer(self):
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        if url.path == "/echo":
            self.echo()
        elif url.path == "/ws":
            self.websocket()
        elif url.path == "/env":
            self.env(query.get("name", []))
        elif url.path == "/crash":
            self.crash(int(query.get("code", ["1"])[0]))
        elif url.path == "/":
            self.send("text/html; charset=utf-8", (PAGE % {"host": escape(socket.gethostname())}).encode())
        elif url.path == "/data":
            self.send("text/plain", b"", 301, {"Location": "data/"})
        elif url.path.startswith("/data/"):
            self.data(unquote(url.path[len("/data/"):]))
        else:
            self.json({"error": "There is nothing at %s" % url.path}, 404)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = answer

    def send(self, kind, body, status=200, headers=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def json(self, value, status=200):
        self.send("application/json", json.dumps(value, indent=1).encode() + b"\n", status)

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            parts, length = [], 0
            while size := int(self.rfile.readline(64).split(b";")[0], 16):
                length += size
                if length > MAX_BODY:
                    raise ValueError("body too large")
                parts.append(self.rfile.read(size))
                self.rfile.readline(2)
            self.rfile.readline(2)
            return b"".join(parts)
        length = int(self.headers.get("Content-Length") or 0)
        if length > MAX_BODY:
            raise ValueError("body too large")
        return self.rfile.read(length)

    def echo(self):
        try:
            body = self.body()
        except ValueError:
            self.close_connection = True
            return self.json({"error": "A body of at most %d bytes is wanted" % MAX_BODY}, 413)
        self.json({
            "method": self.command,
            "path": self.path,
            "headers": [[name.lower(), value] for name, value in self.headers.items()],
            "body": body.decode("utf-8", "replace"),
            "client": self.client_address[0],
        })

    def env(self, names):
        self.json({name: os.environ.get(name) for name in names} if names else sorted(os.environ))

    def crash(self, code):
        print("Ending with exit code %d, as asked" % code, file=sys.stderr, flush=True)
        os._exit(code)

    def data(self, name):
        top = os.path.realpath(DATA_DIR)
        path = os.path.realpath(os.path.join(top, name))
        if path != top and not path.startswith(top + os.sep):
            return self.json({"error": "There is no file %s" % name}, 404)
        try:
            if os.path.isdir(path):
                return self.listing(path)
            with open(path, "rb") as file:
                self.send_response(200)
                self.send_header("Content-Type", "application/octet-stream" if b"\0" in file.peek(512)[:512] else "text/plain; charset=utf-8")
                self.send_header("Content-Length", str(os.fstat(file.fileno()).st_size))
                self.end_headers()
                if self.command != "HEAD":
                    shutil.copyfileobj(file, self.wfile)
        except OSError as error:
            self.json({"error": "%s: %s" % (name, error.strerror)}, 404)

    def listing(self, path):
        entries = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in os.scandir(path))
        if "json" in self.headers.get("Accept", ""):
            return self.json(entries)
        rows = "".join('<li><a href="%s">%s</a>' % (quote(name), escape(name)) for name in entries)
        self.send("text/html; charset=utf-8", ("<!doctype html><meta charset=utf-8><title>Files</title><ul>%s</ul>" % rows).encode())

    def websocket(self):
        key = self.headers.get("Sec-WebSocket-Key")
        if key is None or self.headers.get("Upgrade", "").lower() != "websocket":
            return self.send("text/plain", b"A WebSocket is wanted here\n", 426, {"Upgrade": "websocket"})
        accept = base64.b64encode(hashlib.sha1(key.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()).decode()
        self.close_connection = True
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", accept)
        self.end_headers()
        while self.echo_frame():
            pass

    def echo_frame(self):
        """Sends one frame back, of any kind and part; a ping as a pong. False after the closing one."""
        head = self.rfile.read(2)
        if len(head) < 2:
            return False
        kind, length = head[0] & 15, head[1] & 127
        if length > 125:
            length = struct.unpack("!H" if length == 126 else "!Q", self.rfile.read(2 if length == 126 else 8))[0]
        if length > MAX_MESSAGE:
            return False
        mask = self.rfile.read(4)
        payload = unmask(self.rfile.read(length), mask)
        size = bytes([length]) if length < 126 else struct.pack("!BH", 126, length) if length < 65536 else struct.pack("!BQ", 127, length)
        self.wfile.write(bytes([head[0] & 0xF0 | (10 if kind == 9 else kind)]) + size + payload)
        return kind != 8

    def log_message(self, form, *values):
        print("%s %s" % (self.command, form % values), flush=True)


def unmask(payload, mask):
    if not payload:
        return payload
    repeated = (mask * (len(payload) // 4 + 1))[:len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(len(payload), "big")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def server_bind(self):
        # The parent looks its own host name up, which may take seconds without DNS.
        socket.socket.setsockopt(self.socket, socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = self.server_address

    def handle_error(self, request, client_address):
        print("%s went away: %s" % (client_address[0], sys.exc_info()[1]), file=sys.stderr, flush=True)


def main():
    port = int(os.environ.get("PORT") or 8000)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    server = Server(("0.0.0.0", port), Handler)
    print("Listening on port %d" % port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    main()
