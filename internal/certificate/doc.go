// SPDX-License-Identifier: Apache-2.0

// Package certificate lets the servers of an installation make and renew their certificates
// themselves.
//
// An installation has one certificate authority, in one Secret on the host cluster. Whoever
// comes first fills the Secret; it is written with optimistic concurrency, so that of several
// processes that try at once one is first and the others take what it wrote. Each process has
// one certificate, which it signs for itself with the authority's key and a key of its own,
// which stays in its memory.
//
// The Secret has these keys, all in PEM:
//
//	tls.crt, tls.key    the authority that signs
//	next.crt, next.key  the authority that will sign; only while one takes over from the other
//	ca.crt              what is to be trusted: both, and earlier ones until they expire
//
// At two thirds of an authority's life the next one is made and put into ca.crt. It signs
// only after the overlap, when everybody trusts it. From then on the former one, whose key is
// gone, stays in ca.crt for the certificates that it signed. What cannot be used, because the
// Secret was emptied, damaged or deleted, is made anew at once and without an overlap.
package certificate
