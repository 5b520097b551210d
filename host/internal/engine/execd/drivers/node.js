// Runs cells of JavaScript for execd: requests come as lines of JSON on
// descriptor 3, answers go as such on descriptor 4. Standard output and error
// are the cells' own. V8's own evaluation for consoles runs the cells: await
// works at the top level, and what one cell declares another may declare anew.
'use strict';
(() => {
  const fs = require('fs');
  const inspector = require('inspector');
  const net = require('net');
  const nodeModule = require('module');
  const util = require('util');
  const vm = require('vm');

  const limit = 32 << 20;
  const mark = Symbol('execd');
  const write = fs.writeSync;
  const parse = JSON.parse;
  const kill = process.kill.bind(process);
  const stringify = JSON.stringify;
  const inspect = util.inspect;
  const here = nodeModule.createRequire(process.cwd() + '/');
  globalThis.require = here;
  globalThis.module = module;
  globalThis.exports = module.exports;

  function send(message) {
    let data = Buffer.from(stringify(message) + '\n');
    if (data.length > limit) {
      message.data = { text: `<a result of ${data.length} bytes is too large to be sent>` };
      data = Buffer.from(stringify(message) + '\n');
    }
    for (let at = 0; at < data.length;) {
      try {
        at += write(4, data, at);
      } catch (e) {
        if (e.code !== 'EAGAIN') throw e;
      }
    }
  }

  const session = new inspector.Session();
  session.connect();
  let value;
  globalThis[Symbol.for('execd')] = mark;
  const hooks = { take(v) { value = v; }, begin: null };
  Object.defineProperty(globalThis, mark, { value: hooks });
  const hook = '[globalThis[Symbol.for("execd")]]';
  const begin = new vm.Script(`globalThis${hook}.begin()`, { filename: 'execd' });

  // local turns the inspector's idea of a value into the value itself.
  function local(remote) {
    value = undefined;
    const args = [];
    if ('objectId' in remote) args.push({ objectId: remote.objectId });
    else if ('unserializableValue' in remote) args.push({ unserializableValue: remote.unserializableValue });
    else args.push({ value: remote.value });
    session.post('Runtime.callFunctionOn', {
      functionDeclaration: `function (v) { globalThis${hook}.take(v); }`, objectId: self, arguments: args,
    });
    const v = value;
    value = undefined;
    return v;
  }
  let self;
  session.post('Runtime.evaluate', { expression: 'globalThis' }, (err, r) => { self = r.result.objectId; });

  function explain(e) {
    if (util.types.isNativeError(e) || e instanceof Error) {
      const stack = String(e.stack || e).split('\n');
      const ours = stack.findIndex((l) => /^\s+at .*(node:|\[eval\]|execd)/.test(l));
      return { ename: String(e.name), evalue: String(e.message), traceback: ours > 0 ? stack.slice(0, ours) : stack };
    }
    const text = typeof e === 'string' ? e : inspect(e);
    return { ename: 'Error', evalue: text, traceback: ['Uncaught ' + text] };
  }

  let finish = null; // ends the cell that runs
  const interrupted = { ename: 'KeyboardInterrupt', evalue: 'the execution was interrupted', traceback: ['KeyboardInterrupt: the execution was interrupted'] };
  process.on('SIGINT', () => { if (finish) finish(interrupted); });
  for (const kind of ['uncaughtException', 'unhandledRejection']) {
    process.on(kind, (e) => { write(2, explain(e).traceback.join('\n') + '\n'); });
  }

  function strip(code) {
    if (nodeModule.stripTypeScriptTypes) {
      return nodeModule.stripTypeScriptTypes(code, { mode: 'transform' });
    }
    let ts;
    try {
      ts = here('typescript');
    } catch {
      const e = new Error(`TypeScript needs node 22.13 or newer, or the package "typescript" where it can be found from ${process.cwd()}; this is node ${process.versions.node}`);
      e.stack = 'Error: ' + e.message;
      throw e;
    }
    return ts.transpileModule(code, { compilerOptions: { target: 'esnext', module: 'esnext' } }).outputText;
  }

  function cell(code, count, typed) {
    return new Promise((resolve) => {
      finish = (failure, data) => {
        finish = null;
        if (data) send({ type: 'result', count, data });
        if (failure) send({ type: 'error', ...failure });
        send({ type: 'done', count });
        resolve();
      };
      const ours = finish;
      hooks.begin = () => {
        send({ type: 'begun', count });
        session.post('Runtime.evaluate', {
          expression: `${code}\n//# sourceURL=cell-${count}.js`, replMode: true, awaitPromise: true, silent: true, objectGroup: 'cell',
        }, (err, r) => {
          if (finish !== ours) return; // interrupted before
          try {
            if (err) return finish(explain(err));
            if (r.exceptionDetails) {
              const e = r.exceptionDetails.exception;
              return finish(e ? explain(local(e)) : { ename: 'Error', evalue: r.exceptionDetails.text, traceback: [r.exceptionDetails.text] });
            }
            const v = local(r.result);
            finish(null, v === undefined ? null : { text: inspect(v) });
          } catch (e) {
            if (finish === ours) finish(explain(e));
          }
        });
      };
      try {
        if (typed) code = strip(code);
        begin.runInThisContext({ breakOnSigint: true });
      } catch (e) {
        if (finish === ours) finish(e && e.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED' ? interrupted : explain(e));
      }
      session.post('Runtime.releaseObjectGroup', { objectGroup: 'cell' });
    });
  }

  let count = 0;
  let rest = [];
  let queue = Promise.resolve();
  const requests = new net.Socket({ fd: 3, readable: true, writable: false });
  requests.on('data', (chunk) => {
    for (let at; (at = chunk.indexOf(10)) >= 0; chunk = chunk.subarray(at + 1)) {
      rest.push(chunk.subarray(0, at));
      const request = parse(Buffer.concat(rest).toString());
      rest = [];
      if (request.interrupt) {
        // Who is too busy to read this gets a signal, and this too late.
        if (finish && request.interrupt === count) {
          finish(interrupted);
          kill(0, 'SIGINT'); // to what the cell has started
        }
        continue;
      }
      queue = queue.then(() => cell(request.code, ++count, request.typed));
    }
    rest.push(chunk);
  });
  requests.on('end', () => process.exit(0));
  send({ type: 'ready', asks: true });
})();
