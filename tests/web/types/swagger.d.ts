/** The entry of Swagger UI. */
interface Window {
  SwaggerUIBundle: (options: object) => unknown;
}
