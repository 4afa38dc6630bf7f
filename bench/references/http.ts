import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

// Reference (a): plain node:http. Ignores the request body and always answers the same bytes. Upper
// bound for Node and wrk.
//
// Usage: node bench/references/http.ts <port> <file with the answer's body>

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
