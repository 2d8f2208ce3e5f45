// The page /docs: Swagger UI over the description of the API, all files from this server.

window.SwaggerUIBundle({
  url: "api/v1/openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  // Otherwise descriptions would be sent to a validator of the project's site.
  validatorUrl: null,
});
