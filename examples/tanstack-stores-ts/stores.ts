// TanStack AI's stores of sandboxes and runs, kept by `alineo-host serve`.
//
//   const host = { url: 'http://127.0.0.1:7777', token: process.env.ALINEO_SERVE_TOKEN }
//   const instances = instanceStore(host) // for the sandbox layer
//   const runs = runStore(host)           // the same one for persistence and the sandbox layer
//
// Every process that has them sees the same sandboxes and runs: a replica finds what another one left.

import { isRunStatus, type RunRecord, type RunStore } from '@tanstack/ai'
import type { SandboxRecord, SandboxStore } from '@tanstack/ai-sandbox'

export interface Host {
  /** Where `alineo-host serve` listens, such as http://127.0.0.1:7777. */
  url: string
  /** The token of [serve]; without one, the host must be this machine. */
  token?: string | undefined
}

/** What the host refuses, or can't do. `code` is for programs: unauthorized, invalid, unavailable, … */
export class HostError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message)
    this.name = 'HostError'
  }
}

/** call returns what the host answers, and null for what isn't there. */
async function call<T>(host: Host, method: string, path: string, body?: unknown): Promise<T | null> {
  const headers: Record<string, string> = {}
  if (host.token) headers['Authorization'] = `Bearer ${host.token}`
  const init: RequestInit = { method, headers }
  if (body !== undefined) init.body = JSON.stringify(body)
  const response = await fetch(host.url.replace(/\/$/, '') + path, init)
  if (response.status === 204) return null
  const text = await response.text()
  if (response.ok) return JSON.parse(text) as T
  let problem: { code?: string; message?: string } = {}
  try {
    problem = JSON.parse(text)
  } catch {
    // Something between us and the host answered.
  }
  if (response.status === 404 && problem.code === 'not_found') return null
  throw new HostError(response.status, problem.code ?? 'unknown', problem.message ?? `${method} ${path}: ${response.status}`)
}

/** The store of instances; in later versions of the package its type is called SandboxInstanceStore. */
export function instanceStore(host: Host): SandboxStore {
  const at = (key: string) => `/v1/instances/${encodeURIComponent(key)}`
  return {
    get: (key) => call<SandboxRecord>(host, 'GET', at(key)),
    async upsert(record) {
      await call(host, 'PUT', at(record.key), record) // JSON leaves out what is undefined
    },
    async delete(key) {
      await call(host, 'DELETE', at(key))
    },
  }
}

type Patch = Parameters<RunStore['update']>[1]

/** A member that is there and undefined is to be cleared, which JSON can't say. */
function wirePatch(patch: Patch) {
  const entries = Object.entries(patch)
  return {
    set: Object.fromEntries(entries.filter(([, value]) => value !== undefined)),
    clear: entries.filter(([, value]) => value === undefined).map(([name]) => name),
  }
}

/** A status that this version doesn't know must not be taken for one that it does. */
function checked(record: RunRecord): RunRecord {
  if (!isRunStatus(record.status)) throw new TypeError(`run ${record.runId} has the unknown status ${String(record.status)}`)
  return record
}

/** pages collects the records of all pages of a listing. */
async function pages(host: Host, path: string, query: Record<string, string>): Promise<RunRecord[]> {
  const all: RunRecord[] = []
  for (let cursor = ''; ; ) {
    const search = new URLSearchParams(cursor ? { ...query, cursor } : query)
    const page = await call<{ runs: (RunRecord & { since?: number })[]; cursor?: string }>(host, 'GET', `${path}?${search}`)
    for (const { since: _, ...record } of page?.runs ?? []) all.push(checked(record))
    if (!page?.cursor) return all
    cursor = page.cursor
  }
}

/** The store of runs, with all that is optional. */
export function runStore(host: Host): Required<RunStore> {
  const at = (id: string) => `/v1/runs/${encodeURIComponent(id)}`
  return {
    async createOrResume({ runId, ...rest }) {
      const record = await call<RunRecord>(host, 'PUT', at(runId), rest)
      if (!record) throw new HostError(404, 'not_found', `the host didn't make run ${runId}`)
      return checked(record)
    },
    async update(runId, patch) {
      await call(host, 'PATCH', at(runId), wirePatch(patch))
    },
    async get(runId) {
      const record = await call<RunRecord>(host, 'GET', at(runId))
      return record && checked(record)
    },
    async findActiveRun(threadId) {
      const record = await call<RunRecord>(host, 'GET', `/v1/threads/${encodeURIComponent(threadId)}/run`)
      return record && checked(record)
    },
    listByThread: (threadId) => pages(host, `/v1/threads/${encodeURIComponent(threadId)}/runs`, {}),
    listReclaimable: ({ now, ttlMs }) => pages(host, '/v1/reclaimable', { now: String(now), ttlMs: String(ttlMs) }),
  }
}
