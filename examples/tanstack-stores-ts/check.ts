// Does the same things to TanStack's own stores in memory and to those of a host, and compares all answers.
//
//   node check.js URL [TOKEN]

import { deepStrictEqual, rejects, strictEqual } from 'node:assert'
import { InMemoryRunStore, type RunStore } from '@tanstack/ai'
import { InMemorySandboxStore, type SandboxStore } from '@tanstack/ai-sandbox'
import { HostError, instanceStore, runStore } from './stores.js'

const [url, token] = process.argv.slice(2)
if (!url) throw new Error('usage: node check.js URL [TOKEN]')
const host = { url, token }

/** As JSON has it: the stores in memory keep members that are undefined. */
const plain = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)))

async function step(name: string, f: () => Promise<unknown>) {
  try {
    await f()
    console.log(JSON.stringify({ step: name }))
  } catch (error) {
    console.log(JSON.stringify({ step: name, error: String(error) }))
  }
}

const memoryInstances = new InMemorySandboxStore()
const hostInstances = instanceStore(host)
const instances = (name: string, f: (store: SandboxStore) => Promise<unknown>) =>
  step(`instances/${name}`, async () => deepStrictEqual(plain(await f(hostInstances)), plain(await f(memoryInstances))))

const instance = { key: 'ключ/1 ?', provider: 'p', providerSandboxId: 's-1', threadId: 't', updatedAt: 1_700_000_000_000 }
await instances('a missing key is null', (s) => s.get('nobody'))
await instances('insert', async (s) => {
  await s.upsert({ ...instance, latestSnapshotId: 'snap', latestRunId: 'r' })
  return s.get(instance.key)
})
await instances('replace the whole record', async (s) => {
  await s.upsert(instance)
  return s.get(instance.key)
})
await step('instances/what is absent has no member', async () => {
  strictEqual('latestSnapshotId' in ((await hostInstances.get(instance.key)) ?? {}), false)
})
await instances('delete', async (s) => [await s.delete(instance.key), await s.delete(instance.key), await s.get(instance.key)])

const memoryRuns = new InMemoryRunStore()
const hostRuns = runStore(host)
const runs = (name: string, f: (store: Required<RunStore>) => Promise<unknown>) =>
  step(`runs/${name}`, async () => deepStrictEqual(plain(await f(hostRuns)), plain(await f(memoryRuns))))

await runs('a missing run is null', async (s) => [await s.get('nobody'), await s.findActiveRun('nobody')])
await runs('create', (s) => s.createOrResume({ runId: 'r/1', threadId: 't 1', startedAt: 10 }))
await runs('resume changes nothing', (s) => s.createOrResume({ runId: 'r/1', threadId: 'x', startedAt: 99, status: 'failed' }))
await runs('set', async (s) => {
  await s.update('r/1', {
    sandboxKey: 'k', detachedSince: 50, cancelRequested: false, driverEpoch: 2, error: { message: 'm', code: 'c' },
    usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 },
  })
  return s.get('r/1')
})
await runs('omitted stays', async (s) => {
  await s.update('r/1', { driverEpoch: 3 })
  return s.get('r/1')
})
await runs('reclaimable, the limit included', async (s) => [
  await s.listReclaimable({ now: 60, ttlMs: 10 }),
  await s.listReclaimable({ now: 59, ttlMs: 10 }),
])
await runs('present and undefined clears', async (s) => {
  // As the stores' callers do it, which exactOptionalPropertyTypes would not let us write down.
  const cleared = { detachedSince: undefined, error: undefined, cancelRequested: undefined } as object
  await s.update('r/1', cleared)
  return s.get('r/1')
})
await step('runs/what was cleared has no member', async () => {
  strictEqual('detachedSince' in ((await hostRuns.get('r/1')) ?? {}), false)
})
await runs('an unknown run is left alone', async (s) => [await s.update('nobody', { status: 'failed' }), await s.get('nobody')])
await runs('the active run is the one that started last', async (s) => {
  await s.createOrResume({ runId: 'r/2', threadId: 't 1', startedAt: 30 })
  await s.createOrResume({ runId: 'r/3', threadId: 't 1', startedAt: 20 })
  await s.createOrResume({ runId: 'r/4', threadId: 't 1', startedAt: 40, status: 'interrupted' })
  return [await s.findActiveRun('t 1'), await s.listByThread('t 1')]
})
await runs('end', async (s) => {
  await s.update('r/2', { status: 'completed', finishedAt: 70 })
  return [await s.get('r/2'), await s.findActiveRun('t 1')]
})
await runs('a long thread', async (s) => {
  const made = Array.from({ length: 120 }, (_, i) => ({ runId: `long-${i}`, threadId: 'long', startedAt: 1000 + i }))
  for (const run of made) await s.createOrResume(run)
  return s.listByThread('long')
})
await step('a failure rejects', () => rejects(runStore({ url: 'http://127.0.0.1:1' }).get('r'), TypeError))
if (token) {
  await step('a wrong token rejects', () =>
    rejects(runStore({ url, token: token + 'x' }).get('r'), (e) => e instanceof HostError && e.code === 'unauthorized'))
}
