// node bytecode.cjs FOLDER_OF_PYODIDE BYTECODE_PY SOURCES_ZIP RESULT_ZIP
const { readFileSync, writeFileSync } = require("node:fs");
const [folder, script, sources, result] = process.argv.slice(2);
const { loadPyodide } = require(`${folder}/pyodide.js`);
loadPyodide({ indexURL: folder }).then((pyodide) => {
  pyodide.runPython(readFileSync(script, "utf8"));
  pyodide.globals.set("given", new Uint8Array(readFileSync(sources)));
  writeFileSync(result, pyodide.runPython("compile_zip(given.to_bytes())").toJs());
}).catch((error) => { console.error(error.message); process.exit(1); });
