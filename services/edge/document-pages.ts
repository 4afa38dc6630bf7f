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
export const SWAGGER_PAGE = page(
  `  <link rel="stylesheet" href="/docs/swagger-ui.css">
  <style>body { margin: 0; }</style>
`,
  `  <div id="swagger-ui"></div>
  <script src="/docs/swagger-ui-bundle.js"></script>
  <script src="/docs/start.js"></script>
`,
);

/** Starts Swagger UI: a file of its own, because the page's policy allows no inline script. */
export const SWAGGER_START = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
});
`;

/** Redoc: the API document as one page to read. Its narrow column would break the error codes. */
export const REDOC_PAGE = page(
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
