package loadgen

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rights lists what the clients of alice and bob need, and no more.
func rights() []*kadm.ACLBuilder {
	onTopics := []kadm.ACLOperation{kadm.OpRead, kadm.OpWrite, kadm.OpDescribe}
	return []*kadm.ACLBuilder{
		kadm.NewACLs().Allow("User:"+alice).AllowHosts("*").Topics("orders", "customers").Operations(onTopics...),
		kadm.NewACLs().Allow("User:" + bob).AllowHosts("*").Topics("payments").Operations(onTopics...),
		kadm.NewACLs().Allow("User:" + alice).AllowHosts("*").Groups("orders-").
			ResourcePatternType(kadm.ACLPatternPrefixed).Operations(kadm.OpRead),
		kadm.NewACLs().Allow("User:"+bob).AllowHosts("*").Groups("payments-").TransactionalIDs("payments-").
			ResourcePatternType(kadm.ACLPatternPrefixed).Operations(kadm.OpRead, kadm.OpWrite, kadm.OpDescribe),
	}
}

// grant creates the rights and waits until every broker goes by them: to a
// producer, being refused once is fatal.
func (l *Load) grant(ctx context.Context) error {
	created := 0
	for _, acl := range rights() {
		answers, err := l.admin.CreateACLs(ctx, acl)
		if err != nil {
			return fmt.Errorf("create ACLs: %w", err)
		}
		for _, a := range answers {
			if a.Err != nil {
				return fmt.Errorf("create the ACL of %s on %s: %w", a.Principal, a.Name, a.Err)
			}
		}
		created += len(answers)
	}
	brokers, err := l.admin.ListBrokers(ctx)
	if err != nil {
		return fmt.Errorf("list the brokers: %w", err)
	}
	for _, broker := range brokers.NodeIDs() {
		if err := l.awaitACLs(ctx, broker, created); err != nil {
			return fmt.Errorf("wait until broker %d knows the ACLs: %w", broker, err)
		}
	}
	return nil
}

// awaitACLs waits until a broker lists as many entries for alice and bob as were
// created. Each broker answers from what it knows itself.
func (l *Load) awaitACLs(ctx context.Context, broker int32, created int) error {
	request := kmsg.NewPtrDescribeACLsRequest()
	request.ResourceType = kmsg.ACLResourceTypeAny
	request.ResourcePatternType = kmsg.ACLResourcePatternTypeAny
	request.Operation = kmsg.ACLOperationAny
	request.PermissionType = kmsg.ACLPermissionTypeAny
	for {
		answer, err := l.client.Broker(int(broker)).RetriableRequest(ctx, request)
		if err != nil {
			return err
		}
		acls := answer.(*kmsg.DescribeACLsResponse)
		if err := kerr.ErrorForCode(acls.ErrorCode); err != nil {
			return err
		}
		known := 0
		for _, resource := range acls.Resources {
			for _, acl := range resource.ACLs {
				if acl.Principal == "User:"+alice || acl.Principal == "User:"+bob {
					known++
				}
			}
		}
		if known >= created {
			return nil
		}
		if !sleep(ctx, 50*time.Millisecond) {
			return errors.Join(context.Cause(ctx), fmt.Errorf("it knows %d of %d", known, created))
		}
	}
}
