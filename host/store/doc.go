// Package store declares the storage interfaces of the host and the types that cross them.
//
// A store is usually a plugin behind host/internal/adapter; embedders may bring their own. The
// shared suite in storetest says what every store must do.
//
// imports: nothing of ours.
package store
