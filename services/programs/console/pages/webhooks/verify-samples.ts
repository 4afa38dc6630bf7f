const NODE = `// npm install standardwebhooks
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.WEBHOOK_SECRET);

const server = createServer(async (request, response) => {
  let body = '';
  for await (const part of request.setEncoding('utf8')) body += part;
  let message;
  try {
    // Verify the body as it arrived, not as parsed JSON.
    message = webhook.verify(body, request.headers);
  } catch {
    return response.writeHead(400).end();
  }
  response.writeHead(204).end();
  for (const event of message.data) console.log(event.type, event.instance_id);
});
server.listen(8080);`;

const PYTHON = `# pip install standardwebhooks
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

from standardwebhooks.webhooks import Webhook

webhook = Webhook(os.environ["WEBHOOK_SECRET"])


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        try:
            # Verify the body as it arrived, not as parsed JSON.
            message = webhook.verify(body, dict(self.headers.items()))
        except Exception:
            self.send_response(400)
            self.end_headers()
            return
        self.send_response(204)
        self.end_headers()
        for event in message["data"]:
            print(event["type"], event["instance_id"], flush=True)


server = HTTPServer(("", 8080), Receiver)
server.serve_forever()`;

/** Receivers that verify messages with a library of Standard Webhooks. */
export const VERIFY_SAMPLES = [
  ['Node.js', NODE],
  ['Python', PYTHON],
] as const;
