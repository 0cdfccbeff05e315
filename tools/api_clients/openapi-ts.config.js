// Node finds modules by their whole names.
export default { input: "openapi.json", output: { path: "hey", module: { extension: ".js" } }, logs: { file: false } };
