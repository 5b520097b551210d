package engine

import (
	"crypto/subtle"
	"net/http"
)

// guarded lets requests through that carry the key. It stands before the
// engine of another process; our own has its own check.
func guarded(key string, next http.Handler) http.Handler {
	if key == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Get("OPEN-SANDBOX-API-KEY")
		if subtle.ConstantTimeCompare([]byte(given), []byte(key)) != 1 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"code":"INVALID_API_KEY","message":"Authentication credentials are invalid. Check your API key and try again."}`))
			return
		}
		next.ServeHTTP(w, r)
	})
}
