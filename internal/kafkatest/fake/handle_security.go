package fake

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func itoa(n int32) string { return strconv.Itoa(int(n)) }

func describeClientQuotas(s *State, _ int32, req *kmsg.DescribeClientQuotasRequest, resp *kmsg.DescribeClientQuotasResponse) {
	resp.Entries = []kmsg.DescribeClientQuotasResponseEntry{} // null would mean an error
	for _, q := range s.Quotas {
		if !quotaMatches(q, req) {
			continue
		}
		e := kmsg.NewDescribeClientQuotasResponseEntry()
		for _, typ := range slices.Sorted(maps.Keys(q.Entity)) {
			ent := kmsg.NewDescribeClientQuotasResponseEntryEntity()
			ent.Type, ent.Name = typ, q.Entity[typ]
			e.Entity = append(e.Entity, ent)
		}
		for _, key := range slices.Sorted(maps.Keys(q.Values)) {
			v := kmsg.NewDescribeClientQuotasResponseEntryValue()
			v.Key, v.Value = key, q.Values[key]
			e.Values = append(e.Values, v)
		}
		resp.Entries = append(resp.Entries, e)
	}
}

// quotaMatches is whether an entity has what each component asks for and, if
// strict, nothing else.
func quotaMatches(q Quota, req *kmsg.DescribeClientQuotasRequest) bool {
	if req.Strict && len(q.Entity) != len(req.Components) {
		return false
	}
	for _, c := range req.Components {
		name, ok := q.Entity[c.EntityType]
		switch {
		case !ok:
			return false
		case c.MatchType == kmsg.QuotasMatchTypeDefault && name != nil:
			return false
		case c.MatchType == kmsg.QuotasMatchTypeExact && (name == nil || c.Match == nil || *name != *c.Match):
			return false
		}
	}
	return true
}

func describeACLs(s *State, _ int32, req *kmsg.DescribeACLsRequest, resp *kmsg.DescribeACLsResponse) {
	type resource struct {
		typ     kmsg.ACLResourceType
		name    string
		pattern kmsg.ACLResourcePatternType
	}
	at := map[resource]int{}
	for _, a := range s.ACLs {
		if !aclMatches(a, req) {
			continue
		}
		key := resource{a.ResourceType, a.ResourceName, a.PatternType}
		i, ok := at[key]
		if !ok {
			r := kmsg.NewDescribeACLsResponseResource()
			r.ResourceType, r.ResourceName, r.ResourcePatternType = a.ResourceType, a.ResourceName, a.PatternType
			i = len(resp.Resources)
			at[key], resp.Resources = i, append(resp.Resources, r)
		}
		e := kmsg.NewDescribeACLsResponseResourceACL()
		e.Principal, e.Host, e.Operation, e.PermissionType = a.Principal, a.Host, a.Operation, a.Permission
		resp.Resources[i].ACLs = append(resp.Resources[i].ACLs, e)
	}
}

func aclMatches(a ACL, req *kmsg.DescribeACLsRequest) bool {
	return (req.ResourceType == kmsg.ACLResourceTypeAny || req.ResourceType == a.ResourceType) &&
		aclNameMatches(a, req) &&
		(req.Principal == nil || *req.Principal == a.Principal) &&
		(req.Host == nil || *req.Host == a.Host) &&
		(req.Operation == kmsg.ACLOperationAny || req.Operation == a.Operation) &&
		(req.PermissionType == kmsg.ACLPermissionTypeAny || req.PermissionType == a.Permission)
}

func aclNameMatches(a ACL, req *kmsg.DescribeACLsRequest) bool {
	switch req.ResourcePatternType {
	case kmsg.ACLResourcePatternTypeAny:
	case kmsg.ACLResourcePatternTypeMatch:
		if req.ResourceName == nil {
			return true
		}
		name := *req.ResourceName
		prefixed := a.PatternType == kmsg.ACLResourcePatternTypePrefixed
		return !prefixed && (a.ResourceName == name || a.ResourceName == "*") ||
			prefixed && len(name) >= len(a.ResourceName) && name[:len(a.ResourceName)] == a.ResourceName
	default:
		if req.ResourcePatternType != a.PatternType {
			return false
		}
	}
	return req.ResourceName == nil || *req.ResourceName == a.ResourceName
}

// authState is how far a connection's SASL exchange has come.
type authState uint8

const (
	authNone authState = iota
	authShaken
	authDone
)

// mayAsk is whether a connection may send a request, given its login.
func (cn *conn) mayAsk(key int16) bool {
	if cn.c.opts.users == nil || cn.authState == authDone {
		return true
	}
	switch kmsg.Key(key) {
	case kmsg.ApiVersions, kmsg.SASLHandshake, kmsg.SASLAuthenticate:
		return true
	}
	return false
}

func (cn *conn) handshake(req *kmsg.SASLHandshakeRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.SASLHandshakeResponse)
	switch {
	case cn.c.opts.users == nil:
		resp.ErrorCode = errIllegalSASLState
	case req.Mechanism != "PLAIN":
		resp.ErrorCode = errUnsupportedSASL
		resp.SupportedMechanisms = []string{"PLAIN"}
	default:
		resp.SupportedMechanisms = []string{"PLAIN"}
		cn.authState = authShaken
	}
	return resp
}

func (cn *conn) authenticate(req *kmsg.SASLAuthenticateRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
	if cn.authState != authShaken {
		resp.ErrorCode = errIllegalSASLState
		resp.ErrorMessage = kmsg.StringPtr("SaslAuthenticate request received without a SaslHandshake before it")
		return resp
	}
	// RFC 4616: authorization id, user and password, separated by NUL.
	parts := bytes.Split(req.SASLAuthBytes, []byte{0})
	if len(parts) == 3 {
		if pw, ok := cn.c.opts.users[string(parts[1])]; ok && pw == string(parts[2]) {
			cn.authState = authDone
			return resp
		}
	}
	cn.authState = authNone
	resp.ErrorCode = errSASLAuthentication
	resp.ErrorMessage = kmsg.StringPtr("Authentication failed: Invalid username or password")
	return resp
}

func sortedTransactions(s *State) []*Transaction {
	return slices.SortedFunc(maps.Values(s.Transactions), func(a, b *Transaction) int { return cmp.Compare(a.ID, b.ID) })
}
