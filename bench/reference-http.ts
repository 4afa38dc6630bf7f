import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

// Reference (a): what node:http does with nothing on top. It takes each request's body from the
// socket, looks at nothing, and answers the same bytes: the ceiling of the platform and of wrk.
// Usage: node bench/reference-http.ts <port> <file with the answer's body>

const [port = '0', answerFile = ''] = process.argv.slice(2);
const body = await readFile(answerFile);
const headers = {
  'content-type': 'application/json; charset=utf-8',
  'content-length': body.length,
};

createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(200, headers);
    response.end(body);
  });
}).listen(Number(port), '127.0.0.1');
