// Write a plugin of alineo-host in AssemblyScript: README.md begins with a whole one.

export * from "./messages";
export { Op, Plugin, EntryColumn, SegmentColumn, RowColumn, SandboxColumn, CheckpointColumn, EnvironmentColumn } from "./ops";
export { Table, TableWriter, Value, Kind } from "./table";
export { Message, Reader, Writer, utf8, compare } from "./wire";
export { fail, pass, unsupported } from "./error";
export { ask, cell, log, now, rows, sleep, sql, Level } from "./host";
export { Secret, forgetSecret, grantedSecret, header, headerValue, http, keepSecret, keptSecret, literal, secretHeader } from "./http";
export { Vault } from "./vault";
export { Json, quoted, stringField } from "./json";
export { serve, abort } from "./guest";
