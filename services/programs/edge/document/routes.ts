import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply } from 'fastify';

/** The committed API document. `npm run generate` writes the file. */
export const DOCUMENT_FILE = fileURLToPath(
  new URL('../../../../docs/openapi.json', import.meta.url),
);

const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';

/** The vendor's logo, which Redoc would load. These pages load nothing from other hosts. */
const FOREIGN_LOGO = 'https://cdn.redoc.ly/redoc/logo-mini.svg';
const NO_LOGO = 'data:,';

/**
 * Content security policy for both readers. All resources come from this server.
 *
 * Both readers use inline styles and data images. Redoc searches in a worker made from a blob. "Try
 * it out" also sends requests to this server.
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
 * Serves the API document and its two readers, if the operator enables them (interface 1.6). Files
 * are read on request, so they do not slow down the start.
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

/** Reads a file from an installed package. */
function packaged(url: string): Promise<Buffer> {
  return readFile(fileURLToPath(url));
}

/** An HTML documentation page. `head` and `body` are HTML lines. */
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

/** Swagger UI: shows the API document and sends test calls. */
const SWAGGER_PAGE = page(
  `  <link rel="stylesheet" href="/docs/swagger-ui.css">
  <style>body { margin: 0; }</style>
`,
  `  <div id="swagger-ui"></div>
  <script src="/docs/swagger-ui-bundle.js"></script>
  <script src="/docs/start.js"></script>
`,
);

/**
 * Starts Swagger UI. A separate file, because the content security policy forbids inline scripts.
 */
const SWAGGER_START = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
});
`;

/** Redoc: shows the API document as one page. The styles prevent line breaks inside error codes. */
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
