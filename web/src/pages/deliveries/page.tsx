import { Empty, PageHead } from "../../blocks/blocks.tsx";

const Page = () => (
  <>
    <PageHead title="deliveries" />
    <Empty title="Being built" />
  </>
);

export default Page;
