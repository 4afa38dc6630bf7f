import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply } from 'fastify';

/** The API document, committed; `npm run generate` makes it. */
export const DOCUMENT_FILE = fileURLToPath(new URL('../../../docs/openapi.json', import.meta.url));

const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';

/** Redoc fetches its maker's logo from elsewhere; nothing here is fetched from elsewhere. */
const FOREIGN_LOGO = 'https://cdn.redoc.ly/redoc/logo-mini.svg';
const NO_LOGO = 'data:,';

/**
 * Both readers style themselves inline and show images of their own as data; Redoc searches in a
 * worker that it makes from a blob. Everything else, also what "Try it out" calls, is this server.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

/**
 * The API document and its two readers; registered only where an operator wants them (interface
 * 1.6). Everything is read from disk when it is asked for, so that it costs a start nothing.
 */
export async function documentRoutes(app: FastifyInstance): Promise<void> {
  const add = (url: string, type: string, read: () => Promise<string | Buffer>) =>
    app.get(url, async (_request, reply) => send(reply, type, await read()));
  add('/openapi.json', JSON_TYPE, () => readFile(DOCUMENT_FILE));
  add('/docs', HTML, async () => SWAGGER_PAGE);
  add('/docs/start.js', SCRIPT, async () => SWAGGER_START);
  add('/docs/swagger-ui.css', STYLE, () =>
    packaged(import.meta.resolve('swagger-ui-dist/swagger-ui.css')),
  );
  add('/docs/swagger-ui-bundle.js', SCRIPT, () =>
    packaged(import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js')),
  );
  add('/docs/favicon.png', 'image/png', () =>
    packaged(import.meta.resolve('swagger-ui-dist/favicon-32x32.png')),
  );
  add('/redoc', HTML, async () => REDOC_PAGE);
  add('/redoc/redoc.standalone.js', SCRIPT, async () => {
    const script = await packaged(import.meta.resolve('redoc/bundles/redoc.standalone.js'));
    return script.toString().replaceAll(FOREIGN_LOGO, NO_LOGO);
  });
}

function send(reply: FastifyReply, type: string, body: string | Buffer): FastifyReply {
  return reply.headers(HEADERS).type(type).send(body);
}

/** A file of an installed package. */
function packaged(url: string): Promise<Buffer> {
  return readFile(fileURLToPath(url));
}

/** A page of the documentation; `head` and `body` are lines of HTML. */
function page(head: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Identity Engine Service</title>
  <link rel="icon" type="image/png" href="/docs/favicon.png">
${head}</head>
<body>
${body}</body>
</html>
`;
}

/** Swagger UI: reads the API document and tries its endpoints. */
const SWAGGER_PAGE = page(
  `  <link rel="stylesheet" href="/docs/swagger-ui.css">
  <style>body { margin: 0; }</style>
`,
  `  <div id="swagger-ui"></div>
  <script src="/docs/swagger-ui-bundle.js"></script>
  <script src="/docs/start.js"></script>
`,
);

/** Starts Swagger UI: a file of its own, because the page's policy allows no inline script. */
const SWAGGER_START = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
});
`;

/** Redoc: the API document as one page to read. Its narrow column would break the error codes. */
const REDOC_PAGE = page(
  `  <style>
    body { margin: 0; }
    [id="section/Errors"] td, [id="section/Errors"] th { padding: 5px 8px !important; }
    [id="section/Errors"] table { font-size: 12px !important; }
    [id="section/Errors"] table code { font-size: 11px !important; white-space: nowrap !important; }
  </style>
`,
  `  <redoc spec-url="/openapi.json"></redoc>
  <script src="/redoc/redoc.standalone.js"></script>
`,
);
