// SPDX-License-Identifier: Apache-2.0

// Package migrate is what the conversions of other delivery tools' objects into convoy's share:
// what a conversion gives, how it reads objects of whatever version, and how it lists what
// convoy has no counterpart for. The conversions write nothing: what they need to know of a
// cluster they ask a Reader for.
package migrate
