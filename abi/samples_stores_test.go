package abi_test

import (
	"math"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
)

// storeSamples are those of the groups of durable runs.
func storeSamples() []sample {
	long := strings.Repeat("x", 300)
	instance := abi.Instance{Key: "k1", Provider: "embedded", ProviderSandboxID: "sb-1", ThreadID: "t1", UpdatedAt: 1764432000123}
	whole := instance
	whole.LatestSnapshotID, whole.LatestRunID = new("snap-9"), new("")
	return []sample{
		{"KeyRequest/empty", &abi.KeyRequest{}},
		{"KeyRequest/typical", &abi.KeyRequest{Key: "run-1"}},
		{"KeyRequest/limits", &abi.KeyRequest{Key: nasty}},
		{"Applied/empty", &abi.Applied{}},
		{"Applied/typical", &abi.Applied{Applied: true}},
		{"Instance/empty", &abi.Instance{}},
		{"Instance/typical", &instance},
		{"Instance/whole", &whole},
		{"Instance/limits", &abi.Instance{Key: nasty, Provider: long, ProviderSandboxID: nasty, LatestSnapshotID: new(nasty), UpdatedAt: math.MinInt64}},
		{"InstancePutIf/empty", &abi.InstancePutIf{}},
		{"InstancePutIf/none", &abi.InstancePutIf{Instance: instance}},
		{"InstancePutIf/typical", &abi.InstancePutIf{Instance: whole, Expected: new("sb-0")}},
		{"InstancePutIf/limits", &abi.InstancePutIf{Expected: new("")}},
		{"InstanceDeleteIf/empty", &abi.InstanceDeleteIf{}},
		{"InstanceDeleteIf/typical", &abi.InstanceDeleteIf{Key: "k1", Expected: "sb-1"}},
		{"InstanceListRequest/empty", &abi.InstanceListRequest{}},
		{"InstanceListRequest/typical", &abi.InstanceListRequest{UpdatedBefore: new(int64(1764432000123)), Cursor: []byte{0, 1}, Limit: 50}},
		{"InstanceListRequest/limits", &abi.InstanceListRequest{UpdatedBefore: new(int64(math.MinInt64)), Cursor: []byte(long), Limit: math.MaxUint64}},
		{"RunCreate/empty", &abi.RunCreate{}},
		{"RunCreate/typical", &abi.RunCreate{RunID: "run-1", ThreadID: "t1", Status: "running", StartedAt: new(int64(1764432000123)), Secret: []byte{0, 0xff}}},
		{"RunCreate/limits", &abi.RunCreate{RunID: nasty, StartedAt: new(int64(0)), SandboxKey: new(""), Secret: []byte(long)}},
		{"RunPatch/empty", &abi.RunPatch{}},
		{"RunPatch/detach", &abi.RunPatch{RunID: "run-1", SandboxKey: new("k1"), Now: []string{abi.RunFieldDetachedSince}}},
		{"RunPatch/fenced", &abi.RunPatch{RunID: "run-1", Epoch: new(uint64(2)), Status: new("completed"), Now: []string{abi.RunFieldFinishedAt}, Clear: []string{abi.RunFieldCancelRequested, abi.RunFieldDetachedSince}}},
		{"RunPatch/failed", &abi.RunPatch{RunID: "run-1", Status: new("failed"), FinishedAt: new(int64(1764432000123)), ErrorMessage: new("boom"), ErrorCode: new("E1"), Usage: []byte(`{"tokens":3}`)}},
		{"RunPatch/limits", &abi.RunPatch{
			RunID: nasty, Epoch: new(uint64(0)), Status: new(""), FinishedAt: new(int64(0)), ErrorMessage: new(""), ErrorCode: new(nasty),
			SandboxKey: new(""), DetachedSince: new(int64(-1)), CancelRequested: new(false), DriverEpoch: new(uint64(math.MaxUint64)), Clear: []string{"", nasty, ""}, Now: []string{""},
		}},
		{"RunPatch/cancel", &abi.RunPatch{RunID: "run-1", CancelRequested: new(true)}},
		{"RunReply/empty", &abi.RunReply{}},
		{"RunReply/typical", &abi.RunReply{Outcome: abi.RunChanged, Rows: 1}},
		{"RunReply/table", &abi.RunReply{Outcome: abi.RunUnknown, Table: tables()[2].wire}},
		{"RunReply/limits", &abi.RunReply{Outcome: math.MaxInt32, Rows: math.MaxUint64}},
		{"RunListRequest/empty", &abi.RunListRequest{}},
		{"RunListRequest/typical", &abi.RunListRequest{ThreadID: "t1", Limit: 50}},
		{"RunListRequest/limits", &abi.RunListRequest{ThreadID: nasty, Status: nasty, FinishedBefore: new(int64(0)), Cursor: []byte{0}, Limit: math.MaxUint64}},
		{"ReclaimRequest/empty", &abi.ReclaimRequest{}},
		{"ReclaimRequest/typical", &abi.ReclaimRequest{Status: "running", TTLMS: 1800000, Limit: 25}},
		{"ReclaimRequest/limits", &abi.ReclaimRequest{Status: nasty, TTLMS: math.MaxUint64, Now: math.MinInt64, Cursor: []byte(long), Limit: math.MaxUint64}},
		{"SandboxCountRequest/empty", &abi.SandboxCountRequest{}},
		{"SandboxCountRequest/typical", &abi.SandboxCountRequest{SandboxKey: "k1", Except: "run-1"}},
		{"Count/empty", &abi.Count{}},
		{"Count/limits", &abi.Count{Count: math.MaxUint64}},
		{"RunSecret/empty", &abi.RunSecret{}},
		{"RunSecret/typical", &abi.RunSecret{Secret: []byte{0, 1, 0xfe}}},
		{"LogAppendRequest/empty", &abi.LogAppendRequest{}},
		{"LogAppendRequest/typical", &abi.LogAppendRequest{RunID: "run-1", Epoch: 2, After: new(uint64(40)), Events: 1, Count: 32, Size: 8192}},
		{"LogAppendRequest/limits", &abi.LogAppendRequest{RunID: nasty, Epoch: math.MaxUint64, After: new(uint64(0)), Events: math.MaxUint64, Count: math.MaxUint64, Size: math.MaxUint64}},
		{"LogTail/empty", &abi.LogTail{}},
		{"LogTail/typical", &abi.LogTail{Tail: 72}},
		{"LogReadRequest/empty", &abi.LogReadRequest{}},
		{"LogReadRequest/typical", &abi.LogReadRequest{RunID: "run-1", After: 40, Limit: 1000, MaxBytes: 1 << 20}},
		{"LogPage/empty", &abi.LogPage{}},
		{"LogPage/typical", &abi.LogPage{Rows: 1, Tail: 72, Dropped: 8, Epoch: 2, Closed: true, More: true}},
		{"LogPage/table", &abi.LogPage{Table: tables()[2].wire, Tail: math.MaxUint64}},
		{"LockRequest/empty", &abi.LockRequest{}},
		{"LockRequest/typical", &abi.LockRequest{Key: "run-driver:run-1", Owner: "host-a", TTLMS: 30000}},
		{"LockReply/empty", &abi.LockReply{}},
		{"LockReply/acquired", &abi.LockReply{Acquired: true, Token: "6f1d", Fence: 7, Owner: "host-a", LeftMS: 30000, Now: 1764432000123}},
		{"LockReply/busy", &abi.LockReply{Owner: nasty, LeftMS: math.MaxUint64, Now: -1}},
		{"LeaseRequest/empty", &abi.LeaseRequest{}},
		{"LeaseRequest/typical", &abi.LeaseRequest{Key: "run-driver:run-1", Token: "6f1d", TTLMS: 30000}},
	}
}
