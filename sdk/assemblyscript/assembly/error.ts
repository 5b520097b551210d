// Errors of operations. AssemblyScript can't catch what is thrown, so an operation notes its error and
// returns null.

import { Code, Error as ErrorMessage } from "./messages";

let noted: ErrorMessage | null = null;

/** Notes an error, which the operation that now returns null is answered with. */
export function fail(code: u32, message: string): ErrorMessage {
  const error = new ErrorMessage();
  error.code = code;
  error.message = message;
  noted = error;
  return error;
}

/** The error that was noted last, and none from now on. */
export function takeError(): ErrorMessage {
  const error = noted;
  noted = null;
  return error !== null ? error : fail(Code.INTERNAL, "the operation failed without saying why");
}

/** Notes an error of the host's, to pass it on. */
export function pass(error: ErrorMessage): void { noted = error; }

/** Notes that the plugin has no such operation. */
export function unsupported(operation: string): void {
  fail(Code.UNSUPPORTED, "this plugin has no operation " + operation);
}
