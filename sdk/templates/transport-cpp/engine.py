"""An engine for my_plugin: python3 engine.py PORT. It answers with what it was sent."""
import socketserver
import sys


class Engine(socketserver.StreamRequestHandler):
    def handle(self):
        method, path, size = self.rfile.readline().decode().split()
        body = self.rfile.read(int(size))
        self.wfile.write(b'{"echo": %s}\n' % body if method == "POST" else b"ok\n")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


Server(("127.0.0.1", int(sys.argv[1])), Engine).serve_forever()
