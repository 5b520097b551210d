package runkit

import (
	"math"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// Locks keeps leases on keys.
type Locks struct{ *store }

var _ alineo.Locks = (*Locks)(nil)

// maxLease keeps the end of a lease within what can be counted with, milliseconds.
const maxLease = 1 << 53

// forgetEvery is how many acquisitions come, on average, for one that removes old rows, of which it removes more
// than came since.
const forgetEvery = 16

func lease(ms uint64) abi.SQLParam { return alineo.Int(int64(min(ms, maxLease))) }

// TryAcquire takes a key if it is free.
func (s *Locks) TryAcquire(req *abi.LockRequest) (*abi.LockReply, error) {
	key := alineo.Text(req.Key)
	done, err := s.write(alineo.Query(s.sql().Locks.Acquire, key, alineo.Text(req.Owner), lease(req.TTLMS)),
		alineo.Query(s.sql().Locks.Look, key))
	if err != nil {
		return nil, err
	}
	var token, fence, owner, left, now abi.Value
	acquired, err := alineo.FirstRow(done.Steps[0].Rows, &token, &fence)
	if err != nil {
		return nil, err
	}
	if _, err := alineo.FirstRow(done.Steps[1].Rows, &owner, &left, &now); err != nil {
		return nil, err
	}
	reply := &abi.LockReply{
		Acquired: acquired, Owner: owner.String(), LeftMS: uint64(min(max(left.Int, 0), math.MaxInt64)), Now: now.Int,
	}
	if acquired {
		reply.Token, reply.Fence = token.String(), uint64(fence.Int)
		if reply.Fence%forgetEvery == 0 {
			// The lock is the caller's whatever comes of this, and what stays is tried again soon.
			_, _ = s.write(alineo.Statement(s.sql().Locks.Forget))
		}
	}
	return reply, nil
}

// Renew lets a lease end later.
func (s *Locks) Renew(req *abi.LeaseRequest) (*abi.Applied, error) {
	return s.applied(s.sql().Locks.Renew, alineo.Text(req.Key), alineo.Text(req.Token), lease(req.TTLMS))
}

// Release frees a key.
func (s *Locks) Release(req *abi.LeaseRequest) (*abi.Applied, error) {
	return s.applied(s.sql().Locks.Release, alineo.Text(req.Key), alineo.Text(req.Token))
}
