"""`python -m examples.hook [PORT]`: takes what is posted to it on this machine, and prints it."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

_PORT = 9000


class _Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """One message of `WebhookNotifier`."""
        posted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print(posted["title"], posted["text"], sep="\n", flush=True)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Only what was posted is of interest."""


def main(arguments: list[str]) -> None:
    """Serves until Ctrl-C."""
    port = int(arguments[0]) if arguments else _PORT
    with HTTPServer(("127.0.0.1", port), _Hook) as server:
        print(f"waiting for alerts at http://127.0.0.1:{server.server_port}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main(sys.argv[1:])
