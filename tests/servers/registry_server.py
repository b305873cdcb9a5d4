"""A registry in a thread, by Confluent's published REST contract, that can be told to fail.

What the real one can show is tested on the real one (`registry_stage`); faults are had here.
"""

import json
import ssl
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_NOT_FOUND = 404, {"error_code": 40403, "message": "Schema not found"}


@dataclass
class Registry:
    """`schemas` are texts, documents or answers by id, `subjects` documents by name and version.

    `failing` is a status that every request gets, 0 silence; `dripping` answers have no end, and
    `encoding` is what answers say that they are packed with; `asked` are the paths of requests,
    `authorised` what they were sent with.
    """

    url: str = ""
    schemas: dict = field(default_factory=dict)
    subjects: dict = field(default_factory=dict)
    failing: int = 200
    encoding: str = "identity"
    dripping: bool = False
    asked: list = field(default_factory=list)
    authorised: list = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def answer(self, path):
        """The status and the document."""
        parts = path.partition("?")[0].strip("/").split("/")
        match parts:
            case ["schemas", "ids" | "guids", name] if name in self.schemas:
                found = self.schemas[name]
                if isinstance(found, tuple):
                    return found
                return 200, found if isinstance(found, dict) else {"schema": found}
            case ["schemas", "ids" | "guids", name, "versions"] if name in self.schemas:
                return 200, [{"subject": f"subject-of-{name}", "version": 1}]
            case ["subjects", name, "versions", version] if (name, version) in self.subjects:
                return 200, self.subjects[name, version]
        return _NOT_FOUND


@contextmanager
def opened(certificate=None, clients=None):
    """The registry, on the loopback interface; `certificate`: over TLS, with that of the files.

    `clients` is a file of the certificates of which a client has to show one.
    """
    registry = Registry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            registry.asked.append(self.path)
            registry.authorised.append(self.headers.get("Authorization"))
            if not registry.failing:
                registry.released.wait(30)
                return
            failing = registry.failing, {"error_code": registry.failing, "message": "not now"}
            status, document = registry.answer(self.path) if registry.failing == 200 else failing
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Encoding", registry.encoding)
            self.end_headers()
            while registry.dripping and not registry.released.wait(0.1):
                try:
                    self.wfile.write(b" ")
                except ConnectionError:  # whoever asked has had enough
                    return
            self.wfile.write(json.dumps(document).encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            if clients is not None:
                context.load_verify_locations(clients)
                context.verify_mode = ssl.CERT_REQUIRED
            server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "http" if certificate is None else "https"
        registry.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield registry
        finally:
            registry.released.set()
            server.shutdown()
            thread.join()
