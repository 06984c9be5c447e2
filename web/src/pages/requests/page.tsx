import { Empty, PageHead } from "../../blocks/blocks.tsx";

const Page = () => (
  <>
    <PageHead title="requests" />
    <Empty title="Being built" />
  </>
);

export default Page;
